
# QEMU writes a line for each instruction. The program runs its first k calls: one more call, so many more lines.
report.json: report_main
	$(RUN) ./report_main 2
	$(RUN) ./report_main `for k in 0 1 2; do $(RUN) -singlestep -d exec,nochain -D /dev/stdout ./report_main $$k | grep -c ^Trace; done` > $@ || \
	    { cat $@; rm $@; exit 1; }
