// Package action is the way back: what happens when a person does something
// with a block.
//
// It owns the registry of actions and the gateway in front of them: the order
// of checks, idempotency, the lock on a block, confirmations, the audit log and
// what a crash left behind. Kinds of action declared without Go live in
// action/declared. It may import block, event, store, emit, tool, trajectory
// and turn. It must never know of HTTP requests: refusals are values with a
// code and details. Only a person's request reaches the gateway; the model, a
// tool or a connector can show a button, never press one.
package action
