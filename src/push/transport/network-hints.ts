const NAME = 'the host name has no address; check its spelling, and whether this machine may use the DNS'
const CLOSED = 'no program listens there; compare host and port with those from the vendor, and check the firewalls on the way'
const DIRECTLY_AWAY = 'no answer from there; check the firewalls on the way'
const AWAY = `${DIRECTLY_AWAY}, and whether HTTPS_PROXY is needed`
const ISSUER = 'the certificate is from an unknown authority; if that is a private one, name its file in NODE_EXTRA_CA_CERTS'
const EXPIRED = 'the certificate has expired or is not valid yet; its owner must renew it, unless the clock of this machine is wrong'
const OTHER = 'the certificate is for another host name; compare the URL with the one from the vendor'
const NO_TLS = 'the server does not speak TLS on this port; compare scheme and port of the URL with those from the vendor'
const OLD_TLS = 'the server does not support TLS 1.2 or later; its owner must enable it'
const NO_HTTP_1 = 'the server does not support HTTP/1.1, which is needed here; its owner must enable it'
const LONG_HEADERS = 'the headers of its answer are longer than the limit of 16 KiB; its owner must shorten them'
const ASKS = 'the server asks for a client certificate; set tls.cert and tls.key'
const NO_HANDSHAKE = 'the server ended the handshake; it may ask for a client certificate (tls.cert, tls.key), or for other ciphers'
const REFUSES = 'the server rejects the client certificate (tls.cert); compare it with the one registered there'
const PROXY = 'the proxy rejects the credentials; correct them in HTTPS_PROXY'
const PROXY_FORBIDS = 'the administrator of the proxy must allow this host'
const PROXY_AWAY = 'compare HTTPS_PROXY with the address from the administrator of the proxy'

const HINTS: Readonly<Record<string, string>> = {
  ENOTFOUND: NAME,
  EAI_AGAIN: NAME,
  ECONNREFUSED: CLOSED,
  EHOSTUNREACH: AWAY,
  ENETUNREACH: AWAY,
  ETIMEDOUT: AWAY,
  UND_ERR_CONNECT_TIMEOUT: AWAY,
  DEPTH_ZERO_SELF_SIGNED_CERT: ISSUER,
  SELF_SIGNED_CERT_IN_CHAIN: ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ISSUER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ISSUER,
  CERT_HAS_EXPIRED: EXPIRED,
  CERT_NOT_YET_VALID: EXPIRED,
  ERR_TLS_CERT_ALTNAME_INVALID: OTHER,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: OLD_TLS,
  ERR_SSL_UNSUPPORTED_PROTOCOL: OLD_TLS,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: NO_HTTP_1,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: ASKS,
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': NO_HANDSHAKE,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: REFUSES,
  'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE': REFUSES,
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN': REFUSES,
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_REVOKED': REFUSES,
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED': REFUSES,
  UND_ERR_HEADERS_OVERFLOW: LONG_HEADERS,
  'the proxy answered 403': PROXY_FORBIDS,
  'the proxy answered 407': PROXY,
}

const OF_CLIENT = new Set<string | undefined>([ASKS, NO_HANDSHAKE, REFUSES])

/**
 * @param code code of a network or TLS error.
 * @returns whether the server ended the TLS handshake, for example because of the client's certificate. The server then
 * didn't read the request. With TLS 1.3, the client gets this error only after it wrote the request.
 */
export function refusesClient(code: string): boolean {
  return OF_CLIENT.has(HINTS[code])
}

/** Matches the result of `codeOf` if the proxy can't be reached. */
const PROXY_CAUSE = /^the proxy cannot be reached: (.*)$/

/**
 * @param code code of a network or TLS error.
 * @returns what the code means and how to fix it; null if the code needs no explanation.
 */
export function hintFor(code: string): string | null {
  const [, cause] = PROXY_CAUSE.exec(code) ?? []
  if (cause === undefined) return HINTS[code] ?? null
  const hint = HINTS[cause]
  return hint === ISSUER || hint === EXPIRED ? hint : PROXY_AWAY
}

/** Like `hintFor`, for a connection that never uses a proxy. */
export function directHintFor(code: string): string | null {
  const hint = hintFor(code)
  return hint === AWAY ? DIRECTLY_AWAY : hint
}
