// Package summarise is the product's client of a summary provider: one call, a
// bounded number of attempts, and an answer to the question that matters after
// a failure: may the provider have acted (F7)?
//
// The provider is authoritative for what it did. This package knows the contract
// (worker/provider/contract) and nothing of tenants, tasks or tables; it never
// logs, and no error of it holds a text, a URL or an error of the network: what
// comes out is a sentinel with a reason of a closed list. That also keeps a
// provider's outage from being taken for one of our own platform.
//
// What an attempt can end with:
//
//	success                                   the receipt
//	not reached, 429                          tried again; the provider did nothing
//	5xx                                       tried again; it may have acted
//	timeout or a cut connection after sending tried again, same key; it may have acted
//	other statuses                            ErrProviderRefused at once
//	2xx that keeps no contract                ErrProviderNonsense at once; it may have acted
//
// An answer that was lost once stays unknown until a later attempt succeeds:
// neither a refusal nor silence afterwards proves that nothing was done. Errors of
// the platform, from BeforeSend or from the transport's own lease check, pass
// through as they are.
package summarise
