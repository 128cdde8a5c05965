
report.json: report_main
	valgrind -q --tool=callgrind --callgrind-out-file=factor.count --toggle-collect=btd_factor ./report_main
	valgrind -q --tool=callgrind --callgrind-out-file=solve.count --toggle-collect=btd_solve ./report_main
	./report_main `awk '/^summary:/ { print $$2 }' factor.count solve.count` > $@ || { rm $@; exit 1; }
