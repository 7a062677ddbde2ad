package cli

import (
	"os"
	"syscall"
)

// stopSignals are the requests to end that a campaign answers in order.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}
