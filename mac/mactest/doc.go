// Package mactest is one conformance suite for all cores: what a mac.Core must
// do, checked through mac.Device on a register-level model of the hardware. A
// driver that passes can be used by an endpoint without surprises, whoever wrote
// it.
//
// A core plugs in with one test:
//
//	func TestConformance(t *testing.T) {
//		mactest.Run(t, mactest.Core{
//			Name:  "mycore",
//			Model: func(s mactest.Setup) mactest.Model { return mymodel.New(…) },
//			Open:  func(b mac.Bus) (mac.Core, error) { return mycore.New(b) },
//			…
//		})
//	}
//
// Model makes the hardware, doing all DMA inside the register write or the
// delivery that allows it; Open makes the driver and neither writes a register
// nor takes memory. The other fields of Core are what differs between cores:
// numbers that the suite asserts on exactly, and where each error is counted.
//
// What a core cannot do is listed in Core.Missing, by the name of the sub-test and
// with the reason: the suite logs and counts it. A name that is not one of the
// suite's fails the run.
//
// Each sub-test runs in a bubble of testing/synctest. The clock of model and
// driver is therefore the bubble's: it moves only when the test sleeps, and a
// second of waiting takes none. So a run is the same each time, interrupt and
// monitor goroutines included. In every step of every sub-test the page sum
// (pagepool.Pool.Check) and the violations of model and DMA space are looked at,
// and in the end that all memory has been given back.
package mactest
