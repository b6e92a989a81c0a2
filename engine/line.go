package engine

import (
	"maps"
	"strconv"
	"strings"
)

// Line names one line of operations of one resource: those of one origin, in one run of its agent, in one epoch, numbered
// from 1 without gaps. Each run has lines of its own, so that a site restored from a backup never gives one number twice; each
// epoch has, so that what is said of lines does not grow with every run there ever was.
type Line string

func lineOf(origin SiteID, run string, epoch uint64) Line {
	if epoch == 0 {
		return Line(string(origin) + "." + run)
	}
	return Line(string(origin) + "." + run + "." + strconv.FormatUint(epoch, 10))
}

// epoch is the epoch that the line belongs to.
func (l Line) epoch() uint64 {
	_, rest, _ := strings.Cut(string(l), ".")
	_, number, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// over reports whether every member had settled all of the line before anybody wrote in this epoch: an epoch is opened only
// where the last but one is over. What is written in an epoch says nothing of such lines.
func (l Line) over(epoch uint64) bool { return epoch >= 2 && l.epoch() <= epoch-2 }

// without returns what a vector says of lines that are not over in an epoch.
func without(vector map[Line]uint64, epoch uint64) map[Line]uint64 {
	left := maps.Clone(vector)
	maps.DeleteFunc(left, func(name Line, _ uint64) bool { return name.over(epoch) })
	return left
}

// meet returns what all vectors contain.
func meet(vectors []map[Line]uint64) map[Line]uint64 {
	if len(vectors) == 0 {
		return nil
	}
	least := maps.Clone(vectors[0])
	for _, v := range vectors[1:] {
		for name, n := range least {
			least[name] = min(n, v[name])
		}
	}
	return least
}

// join returns what at least one of two vectors contains.
func join(a, b map[Line]uint64) map[Line]uint64 {
	most := make(map[Line]uint64, max(len(a), len(b)))
	maps.Copy(most, a)
	for name, n := range b {
		most[name] = max(n, most[name])
	}
	return most
}
