.PHONY: test bench demo

# Installs what is missing, checks the style, builds, runs every test. The last line counts them.
test:
	@tests/run.sh

# The figures that README.md quotes, measured on this machine.
bench:
	@tests/setup.sh
	cargo bench --profile release --bench figures

# A private MariaDB with sample data and the web client on it, until Ctrl-C. ARGS go to postern mysql.
demo:
	@tests/demo/run.sh $(ARGS)
