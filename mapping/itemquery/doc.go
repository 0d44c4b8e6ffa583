// Package itemquery defines the filters and the paths of a search for items: which values match a filter, and which
// texts of a value are indexed. Package item of the store, the service, the console and the bridge use it. It knows no
// database. Start reading at ParseFilter and ItemTexts.
package itemquery
