package agent

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// watched tells the service manager that the engine answers, if it wants to know (WatchdogSec). Which process the unit began with is of no account:
// another one may have taken over.
func (a *Agent) watched(ctx context.Context) error {
	microseconds, err := strconv.Atoi(os.Getenv("WATCHDOG_USEC"))
	if err == nil && microseconds > 1 {
		beat(ctx, time.Duration(microseconds)*time.Microsecond, func() { a.core.Site.Due() }, func() { a.tellManager(daemon.SdNotifyWatchdog) })
	}
	return nil
}

// beat tells twice within a time that something answers, until ctx ends. Where answers does not return, nothing is told.
func beat(ctx context.Context, within time.Duration, answers, tell func()) {
	every := time.NewTicker(within / 2)
	defer every.Stop()
	for ctx.Err() == nil {
		answers()
		tell()
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}
