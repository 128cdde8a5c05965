
report.json: report_main $(calls:%=%.count)
	./report_main `awk '/^summary:/ { print $$2 }' $(calls:%=%.count)` > $@ || { rm $@; exit 1; }

%.count: report_main
	valgrind -q --tool=callgrind --callgrind-out-file=$@ --toggle-collect=btd_$* ./report_main
