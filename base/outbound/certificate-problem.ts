const PROBLEMS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired. Renew it or, if it is still valid, correct this machine’s clock',
  CERT_NOT_YET_VALID: 'is not valid yet. Correct this machine’s clock, or use a certificate that is already valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for other host names. Use a host name in the URL that the certificate covers',
}
const UNTRUSTED =
  'is not trusted. If your own certificate authority issued it, set NODE_EXTRA_CA_CERTS to the authority’s certificate file'

/**
 * Explains why a server's certificate was rejected, and what to do. Continues a sentence such as "The host’s
 * certificate …", without the final full stop.
 * @param code an error code of Node.js's TLS client
 * @returns null if the code is not about a certificate
 */
export function certificateProblem(code: string): string | null {
  return PROBLEMS[code] ?? (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/.test(code) ? UNTRUSTED : null)
}
