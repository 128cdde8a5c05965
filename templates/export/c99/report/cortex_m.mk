
report.json: report_main
	$(RUN) ./report_main > $@ || { cat $@; rm $@; exit 1; }
