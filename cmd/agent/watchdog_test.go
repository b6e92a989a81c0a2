package agent

import (
	"context"
	"net"
	"path/filepath"
	"testing"
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
	ctx, end := context.WithCancel(t.Context())
	asked, answer, told := make(chan bool), make(chan bool), make(chan bool, 1)
	done := make(chan bool)
	go func() {
		defer close(done)
		beat(ctx, 2*time.Millisecond, func() { asked <- true; <-answer }, func() { told <- true })
	}()
	<-asked
	time.Sleep(20 * time.Millisecond)
	select {
	case <-told:
		t.Error("it is told to answer")
	default:
	}
	end()
	close(answer)
	<-done
}
