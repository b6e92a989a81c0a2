package drift

import (
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// What ends by itself, such as a job with a time to live, is not made anew: it would run again. A site whose application has no object of it any
// more says so. Once it has ended everywhere, one of the sites deletes the resource: there is nothing left of it, and its name is free.

// Ends reports whether the object, should it be gone, has ended by itself.
func Ends(v *view.View) bool { return v.Kind.Ends || v.Mine.Ending }

// End says that the object is gone because it has ended. False: it is to be made anew, since it does not end, or a person has said so.
func End(v *view.View, at time.Time) bool {
	if !Ends(v) || len(Keeps(v, at)) > 0 {
		return false
	}
	v.Me.Ended, v.Me.Contended, v.Mine.Contends, v.Mine.Ending = at.UnixMicro(), "", "", false
	v.TouchAll()
	v.Changed()
	return true
}

// Over reports whether the object has ended at all sites, and this one is to delete the resource.
func Over(v *view.View) bool {
	sites := v.Placement().Sites
	return len(sites) > 0 && slices.Min(sites) == v.Self && v.Exists() && !slices.ContainsFunc(sites, func(s engine.SiteID) bool {
		return v.At(s).Ended == 0 || v.LocalAt(s) != ""
	})
}

// containerWithin is how long something waits for its container where no site tells of one.
const containerWithin = 5 * time.Minute

// ContainerLost reports whether an operation has waited for its container so long, or was sent without it, that the container may have gone with a disk
// that was set back: where no site knows of one the application says so, and a person decides.
func ContainerLost(v *view.View, o *engine.Operation, now time.Time) bool {
	w, tries := v.Me.Wait(engine.WaitReference), v.Mine.Tries[o.ID]
	return v.Kind.Within != "" && (tries != nil || w != nil && now.Sub(engine.Time(w.Since)) >= containerWithin)
}
