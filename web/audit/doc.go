// Package audit keeps who has changed what through a site's API and dashboard, when and with which result, as a chain. Each record holds
// the hash of the one before, an HMAC-SHA256 (RFC 2104) under a key that the agent derives from its vault's. So a record can be neither
// changed nor taken out without breaking the chain, except from its old end, where it is trimmed.
//
// Whoever can write to the database and has not the key can make no record that passes. Who has the key, as the agent does, could write
// the whole chain anew: against him it helps to note the head (number and hash) elsewhere. That proves later that all up to it is as it was.
package audit
