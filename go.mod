module github.com/barewire/barewire

go 1.26.3
