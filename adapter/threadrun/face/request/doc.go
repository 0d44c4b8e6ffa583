// Package request reads requests for the face's handlers: a JSON object member by member (Fields) and query parameters
// (Query). It collects errors, and members that have no meaning. It knows no route and calls no service. Start reading
// at Parse and Fields.
package request
