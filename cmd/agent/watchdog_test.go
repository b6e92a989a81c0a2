package agent

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheManagerHearsThatTheEngineAnswers as long as the agent serves, if it has said how long it waits.
func TestTheManagerHearsThatTheEngineAnswers(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "20000")
	startSite(t, "paris", "")
	if err := told.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for beats := 0; beats < 3; {
		b := make([]byte, 4<<10)
		n, err := told.Read(b)
		if err != nil {
			t.Fatalf("after %d: %v", beats, err)
		}
		if string(b[:n]) == "WATCHDOG=1" {
			beats++
		}
	}
}

// TestNothingIsToldOfWhatDoesNotAnswer: so the manager starts it anew.
func TestNothingIsToldOfWhatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		answer, told := make(chan bool), 0
		go beat(ctx, time.Minute, func() { <-answer }, func() { told++ })
		time.Sleep(time.Hour)
		synctest.Wait()
		if told > 0 {
			t.Error("it is told to answer")
		}
		answer <- true
		synctest.Wait()
		if told != 1 {
			t.Errorf("it has answered, and that is told %d times", told)
		}
		end()
		close(answer)
	})
}
