/**
 * The error messages that the solution's author must see. Each row contains a pattern for the attack's name and one for
 * its message. The first row that matches applies.
 */
const SAYS: readonly (readonly [name: RegExp, message: RegExp])[] = [
  [/^(iss|response iss)\b/, /"iss"|issuer/],
  [/^azp/, /"azp"/],
  [/^aud/, /"aud"/],
  [/^exp (long )?past/, /expired at .* this host's clock shows/],
  [/^iat .*(future|old)/, /was issued at .* this host's clock shows/],
  [/^nbf/, /must not be used before .* this host's clock shows/],
  [/^(exp|iat|sub|nonce|at_hash|c_hash)\b/, /"(exp|iat|sub|nonce|at_hash|c_hash)"/],
  [/^state (wrong|empty)/, /this browser has no sign-in in progress that matches the response/],
  [/^state/, /"state"/],
  [/^code of nobody/, /the error "invalid_request"/],
  [/^(code|id_token|a code instead)/, /code|id_token/],
  [/^error with a code/, /"access_denied"/],
  [/^header (jwk|jku|x5u|crit)/, /header parameter "(jwk|jku|x5u|crit)"/],
  [/^header typ/, /"typ"/],
  [/^header|^payload (not|with)/, /not a JSON object|not strict JSON/],
  [/^kid/, /key|"kid"/],
  [/with the signature of the key|^HMAC|^algorithm (not|in|missing)|symmetric/, /its "alg" is/],
  [/part/, /does not have three parts/],
  [/^(signature|algorithm|payload)/, /signature/],
  [/slow$/, /took longer than [23]000 ms/],
  [/huge$/, /is larger than 262144 bytes/],
  [/redirecting/, /30[37]/],
  [/500$/, /500/],
  [/HTML$/, /did not return a JSON object|content-type/],
  [/^discovery issuer/, /the issuer in the discovery document must be exactly "http.*", but is /],
  [/^discovery/, /the discovery document .*"(issuer|authorization_endpoint|jwks_uri)"/],
  [/with an error/, /the error "(invalid_grant|server_error)"/],
  [
    /without ID token|is not a text/,
    /no ID token|"id_token" from the token endpoint must be a string \(received: number\)/,
  ],
  [/without access token|token type/, /"access_token"|token_type/],
  [/with a list/, /must be a top level object/],
  [/^user info/, /UserInfo|user info|"sub"/],
  [/100 kB/, /has \d+ characters, but at most 32768 are allowed/],
  [/^key/, /key set/],
]

export function messageOf(name: string): RegExp {
  const found = SAYS.find(([pattern]) => pattern.test(name))
  if (found === undefined) throw new TypeError(`nothing says what the author reads of "${name}"`)
  return found[1]
}
