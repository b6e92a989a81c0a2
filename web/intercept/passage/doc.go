// Package passage takes requests to where they run, this site's application or another site's agent, and brings the answers back, both
// streaming. passage.go is one such passage, race.go how several sites are asked for one answer, translate.go what becomes of
// identifiers on the way, describe.go what other agents are told of a list, trial.go an answer that is held until it is known to be the
// one.
package passage
