
report: report.json
	cat report.json

calls = @CALLS@
report_main: report_main.o $(filter-out example_main.o, $(objects))
	$(CC) $(FLAGS) $(CFLAGS) $(LINK) -o $@ $^ -lm

report_main.o: DEFINES = '-DFLAGS="$(FLAGS) $(CFLAGS)"'
