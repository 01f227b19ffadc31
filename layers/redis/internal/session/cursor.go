package session

type cursors struct{}
