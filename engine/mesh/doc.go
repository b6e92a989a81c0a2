// Package mesh knows who belongs to the mesh: members and their names, zones, invitations, and who was taken out.
//
// All of it is signed records that sites tell each other (engine.MeshRecord). Of those of one author and one key the newest
// counts, so the size of a mesh's state follows the number of its sites and not what has happened to them:
//
//   - A site's record of itself takes the place of the one before. It binds nobody to a name.
//   - What authorities say of one site or one zone takes the place of what any of them has said before.
//   - An author's invitations are numbered by place. One that is used up, revoked or expired is over for everybody once its
//     author says so or its time has passed, and only its author ever asks for more of it: so its place goes to the author's next
//     invitation. There are at most MaxInvitations places.
//   - A certificate and a removal stay: a site that was taken out never comes back.
//   - The lists of authorities stay, each with the digest of the one before.
//
// Who belongs to the mesh, under which name, and which zones there are, only authorities say: the founder, and keys that they have
// made authorities (authority.go). What a site says of itself counts when it has a certificate. Which records count, and what follows
// from them, depends on the set of records alone and not on the order in which they were heard; but of two lists that one authority has
// signed in one place, which no honest one does, each site follows the one that it has heard first.
//
// State is a value without clock, lock or randomness. Its Take has the rules for records; what this site says is made by the
// methods of Author that return records (Found, Announce, Invite, Admit, …): the caller signs them, makes them durable, hands them to
// Take and sends them.
//
// docs/words.md explains the terms.
package mesh
