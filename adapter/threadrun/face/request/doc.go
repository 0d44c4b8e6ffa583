// Package request reads what clients of the face send, for its handlers: a JSON object member by member (Fields) and
// the parameters after the question mark (Query). It collects what is wrong, and which members mean nothing. It knows
// no route, and asks no service.
package request
