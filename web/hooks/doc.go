// Package hooks pushes a site's events to addresses that somebody has registered: each event that a hook asks for is posted as a
// CloudEvent in JSON, signed as Standard Webhooks 1.0 has it (https://www.standardwebhooks.com), in the order of the event log.
// What is not taken is tried again with growing pauses, and given up after a day. The place in the log survives restarts, so an
// event is delivered at least once: receivers tell repetitions by webhook-id.
//
// Read it in this order: hook.go for what a hook is, desk.go for making and keeping them, delivery.go for one attempt, runner.go for
// the way of each hook along the log.
package hooks
