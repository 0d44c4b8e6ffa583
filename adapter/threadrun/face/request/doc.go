// Package request reads requests for the handlers of package face: JSON objects member by member (Fields) and query
// parameters (Query). It collects errors and unknown members. It knows no routes and calls no services. Start reading
// at Parse and Fields.
package request
