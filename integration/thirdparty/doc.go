// Package thirdparty holds tests with servers and test suites that know nothing of
// Barewire: they are given its listeners and connections, unmodified, over two
// fake MACs on one wire.
package thirdparty
