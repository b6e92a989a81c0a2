package script

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// command plays one command.
func (w *world) command(ctx context.Context, p part) error {
	word, rest, _ := strings.Cut(p.command, " ")
	if name, ok := strings.CutSuffix(word, ":"); ok {
		s, err := w.site(name)
		if err != nil {
			return err
		}
		return w.at(ctx, s, rest)
	}
	args := strings.Fields(rest)
	var err error
	switch word {
	case "sites":
		return w.found(args)
	case "catalog":
		return w.read(strings.Join(p.block, "\n"))
	case "leaving":
		w.limits.LeaveWithin, err = time.ParseDuration(rest)
	case "keeping":
		w.limits.KeepOperations, err = time.ParseDuration(rest)
	case "deletions":
		w.limits.Deletions.Number, err = strconv.Atoi(rest)
	case "looks":
		w.limits.LookAfter, err = time.ParseDuration(rest)
	case "epoch":
		w.limits.Epoch, err = strconv.Atoi(rest)
	case "history":
		w.limits.History, err = strconv.Atoi(rest)
	case "heal":
		w.Heal()
		w.Settle()
	case "deliver":
		return w.deliverBetween(rest)
	case "wait":
		var d time.Duration
		if d, err = time.ParseDuration(rest); err == nil {
			w.wait(d)
		}
	case "look":
		w.look()
	case "show":
		return w.show(ctx)
	case "left":
		return w.left(ctx)
	default:
		return w.of(word, args, p.block)
	}
	return err
}

// deliverBetween delivers from one site to another where the script names them.
func (w *world) deliverBetween(sites string) error {
	from, to, one := strings.Cut(sites, ">")
	if !one {
		w.deliver(nil, nil)
		return nil
	}
	a, err := w.site(from)
	b, err2 := w.site(to)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	w.deliver(a, b)
	return nil
}

// of plays a command that is done to a site.
func (w *world) of(word string, args, block []string) error {
	if len(args) == 0 {
		return errors.New("there is no such command")
	}
	s, err := w.site(args[0])
	if err != nil {
		return err
	}
	switch word {
	case "cut":
		w.cutOff(s)
		w.Settle()
	case "crash":
		if s.doom = dooms[strings.TrimPrefix(strings.Join(args[1:], " "), "before ")]; s.doom == nil {
			return errors.New("before what?")
		}
	case "restart":
		return s.restart()
	case "start":
		return s.Start()
	case "stop":
		s.stop()
	case "backup":
		s.backup()
	case "restore":
		return s.restore(strings.Join(args[1:], " ") == "with its application")
	case "rollout":
		return s.rollOut(block)
	default:
		return errors.New("there is no such command")
	}
	return nil
}

// at plays a command about one site.
func (w *world) at(ctx context.Context, s *site, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "fail":
		what, ok := strings.CutPrefix(rest, "next ")
		if !ok {
			return errors.New("fail next what?")
		}
		s.app.faults = append(s.app.faults, what)
	case "down", "up":
		s.app.down = word == "down"
	case "blind", "sees":
		s.app.blind = word == "blind"
	case "accepts":
		return s.accepts(rest)
	case "habit":
		return s.app.habit(rest)
	case "app":
		return w.behind(ctx, s, rest)
	case "attempts":
		return w.attempts(ctx, s, rest)
	case "pause", "resume", "keep", "place", "resolve", "remove", "confirm", "reject", "retry", "done", "drop":
		return w.person(ctx, s, word, rest)
	default:
		r, err := w.parseRequest(word, rest)
		if err != nil {
			return err
		}
		w.request(ctx, s, r)
	}
	return nil
}
