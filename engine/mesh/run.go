package mesh

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// Meet answers a record of this site that another run of its agent has written: one that is lost, because the site's disk was
// set back, or one that is alive elsewhere, because its data directory was copied. Say is what this run says of the site.
// It returns that with the other run among those it has heard of, and whether the other has heard of this one: then it is
// alive. A lost run never answers, and no clock is asked.
func Meet(say, other engine.SiteRecord) (answer engine.SiteRecord, cloned bool) {
	answer = say
	if other.Run != say.Run && other.Run != "" && !slices.Contains(say.Heard, other.Run) {
		heard := append(slices.Clone(say.Heard), other.Run)
		answer.Heard = heard[max(0, len(heard)-MaxHeard):]
	}
	answer.Cloned = say.Cloned || say.Run != "" && slices.Contains(other.Heard, say.Run)
	return answer, answer.Cloned
}
