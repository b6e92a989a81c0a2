// Package audit keeps who has changed what through a site's API and dashboard, when and with which result, as a chain: each record
// holds the hash of the one before, so that a record can be neither changed nor taken out without breaking the chain, except from
// its old end, where it is trimmed. Whoever notes the head (number and hash) of the chain elsewhere can later prove that
// all up to it is as it was.
//
// It is proof against whoever can write to the database and does not know what was noted elsewhere; not against the agent itself.
package audit
