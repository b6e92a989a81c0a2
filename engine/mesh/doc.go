// Package mesh knows who belongs to the mesh: members and their names, zones, invitations, and who was taken out.
//
// All of it is signed records that sites tell each other (engine.MeshRecord). Of those of one author and one key the newest
// counts, so the size of a mesh's state follows the number of its sites and not what has happened to them:
//
//   - A site's record of itself takes the place of the one before.
//   - Of what several sites say of one zone the latest counts, and the rest is gone.
//   - An author's invitations are numbered by place. One that is used up, revoked or expired is over for everybody once its
//     author says so or its time has passed, and only its author ever asks for more of it: so its place goes to the author's next
//     invitation. There are at most MaxInvitations places.
//   - An admission and a removal stay: a site that was taken out never comes back, and others may have come in through it.
//
// A record counts when its author is a member: the founder, or somebody whom a member has let in. Which records count, and
// what follows from them, depends on the set of records alone and not on the order in which they were heard.
//
// State is a value without clock, lock or randomness. Its Take has the rules for records; what this site says is made by the
// methods that return records (Found, Announce, Invite, Admit, …): the caller signs them, makes them durable, hands them to
// Take and sends them.
//
// docs/words.md explains the terms.
package mesh
