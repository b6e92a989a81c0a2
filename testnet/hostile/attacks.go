package hostile

import (
	"context"
	"strings"
)

// attack is one thing that a member does and must not gain anything by.
type attack struct {
	name string
	// ready has a member make what it is to send, where that takes seconds on busy cores; nil: it takes no time.
	ready func(m *Member)
	do    func(ctx context.Context, m *Member, o *Orders) error
}

// attacks are all that there are, first those that take a member which is still let in. What each must not achieve is for the honest side to see
// (world_test.go).
var attacks = []attack{
	{name: "forks", do: forkLines},
	{name: "large bodies", do: largeBodies},
	{name: "many turns", do: manyTurns},
	{name: "many documents", do: manyDocuments},
	{name: "flipped letters", do: flipLetters},
	{name: "replayed letters", do: replayLetters},
	{name: "mutated letters", do: mutateLetters},
	{name: "changes elsewhere", do: relabelChanges},
	{name: "endless frames", do: endlessFrames},
	{name: "many streams", do: manyStreams},
	{name: "slow bodies", do: slowBodies},
	{name: "forged letters", do: forgeLetters},
	{name: "operations", do: strangeOperations},
	{name: "operations far ahead", do: farAhead},
	{name: "poison", do: poison},
	{name: "nulls", do: nulls},
	{name: "deep bodies", do: deepBodies},
	{name: "doubling patches", do: doublingPatches},
	{name: "statuses", do: strangeStatuses},
	{name: "checkpoints", do: strangeCheckpoints},
	{name: "mesh records", do: manyRecords},
	{name: "wants", do: wantWhatIsNotMine},
	{name: "blobs", do: blobsOfOthers},
	{name: "early statuses", do: earlyStatuses},
	{name: "wrong clock", do: wrongClock},
	{name: "strangers", do: strangers},
	{name: "requests", do: strangeRequests},
	{name: "old removals", do: oldRemovals},
	{name: "old admissions", do: oldAdmissions},
	{name: "keys of nobody", do: keysOfNobody},
	{name: "names of others", do: namesOfOthers},
	{name: "zones of others", do: zonesOfOthers},
	{name: "many starts", ready: signStarts, do: manyStarts},
	{name: "rivals", do: rivals},
	{name: "other paths", do: otherPaths},
	{name: "garbage", do: throwGarbage},
}

// chosen are the attacks whose name contains a text.
func chosen(only string) (list []attack) {
	for _, a := range attacks {
		if strings.Contains(a.name, only) {
			list = append(list, a)
		}
	}
	return list
}

func throwGarbage(ctx context.Context, m *Member, _ *Orders) error {
	_, err := m.send(ctx, m.victim(), protocols[m.chance(len(protocols))], garbage[m.chance(len(garbage))])
	return ignore(err)
}

// ignore leaves what the other site has done about it, but that it lets the member in no more.
func ignore(err error) error {
	if shut(err) {
		return err
	}
	return nil
}
