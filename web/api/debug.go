package api

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// profileSeconds bounds how long the processor's profile is taken.
const profileSeconds = 30

// getConfiguration answers with what the agent runs with.
func (a *API) getConfiguration(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.Configuration)
}

// logLevel is the body of a change of the log's level.
type logLevel struct {
	Level string `json:"level"`
}

// logLevels are those that there are, by what configurations call them.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (a *API) getLogLevel(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	if a.LogLevel == nil {
		return refuse(http.StatusNotFound, "not-found", "this agent's log has no level that can be changed")
	}
	return answer(c, http.StatusOK, logLevel{strings.ToLower(a.LogLevel.Level().String())})
}

// putLogLevel has the log written from another level on, until the agent ends or another process takes over.
func (a *API) putLogLevel(c echo.Context) error {
	var r logLevel
	if err := decode(c, &r); err != nil {
		return err
	}
	level, ok := logLevels[r.Level]
	if !ok {
		return badRequest("level is %q: give debug, info, warn or error", r.Level)
	}
	if a.LogLevel != nil {
		a.LogLevel.Set(level)
	}
	return a.getLogLevel(c)
}

// getProfile answers with a profile of the agent, as go tool pprof reads it or, with debug, as text.
func (a *API) getProfile(c echo.Context) error {
	q, err := params(c, "debug", "seconds")
	if err != nil {
		return err
	}
	name, err := segment(c, "name")
	if err != nil {
		return err
	}
	debug, err := number(q.Get("debug"), 0, 2)
	if err != nil {
		return badRequest("debug is %q: give 0 for the form of pprof, 1 or 2 for text", q.Get("debug"))
	}
	seconds, err := number(q.Get("seconds"), 1, profileSeconds)
	if err != nil {
		return badRequest("seconds is %q: give a number from 1 to %d", q.Get("seconds"), profileSeconds)
	}
	var b bytes.Buffer
	if name == "cpu" {
		if err := a.profileCPU(c, &b, time.Duration(seconds)*time.Second); err != nil {
			return err
		}
	} else {
		p := pprof.Lookup(name)
		if p == nil {
			return refuse(http.StatusNotFound, "not-found", "there is no profile %q: ask for cpu, goroutine, heap, allocs, threadcreate, block or mutex", name)
		}
		if err := p.WriteTo(&b, debug); err != nil {
			return err
		}
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	media := echo.MIMEOctetStream
	if debug > 0 && name != "cpu" {
		media = echo.MIMETextPlainCharsetUTF8
	}
	return c.Blob(http.StatusOK, media, b.Bytes())
}

// profileCPU watches the processor until the time is over, nobody waits any more, or the agent stops.
func (a *API) profileCPU(c echo.Context, b *bytes.Buffer, during time.Duration) error {
	if err := pprof.StartCPUProfile(b); err != nil { // there is one a process
		return refuse(http.StatusConflict, "busy", "the processor's profile is being taken already: try again in up to %d s", profileSeconds)
	}
	defer pprof.StopCPUProfile() // it writes the profile
	over := time.NewTimer(during)
	defer over.Stop()
	select {
	case <-over.C:
	case <-c.Request().Context().Done():
	case <-a.stopping:
	}
	return nil
}

// number reads a query's number within bounds; empty is the least.
func number(text string, least, most int) (int, error) {
	if text == "" {
		return least, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && (n < least || n > most) {
		err = errors.New("out of bounds")
	}
	return n, err
}
