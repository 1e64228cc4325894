// The rules for an endpoint's response. The guest part applies them first, so that the error shows the script's line.
// The host applies them again, because a compromised process could send anything.

/** Maximum number of headers. Chosen here: far more than a response needs. */
export const MOST_ANSWER_HEADERS = 32

export const ANSWER_HEADER =
  /^(?:content-type|content-disposition|content-language|location|etag|last-modified|cache-control|retry-after|link|x-[a-z0-9-]{1,60})$/

/** Headers that the platform sets, and headers that a proxy in front of it acts on or trusts. */
export const RESERVED_HEADER =
  /^x-(?:content-type-options|correlation-id|real-ip|(?:accel|sendfile|lighttpd|forwarded)(?:-.*)?)$/

export const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/

export const CONTENT_TYPE =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,99}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}(?:; ?[a-z0-9-]{1,40}="?[a-z0-9!#$&^_.+-]{1,100}"?){0,4}$/i

/** Content types that browsers render or run. */
export const ACTIVE_TYPE = /^[^;]*(?:html|xml|xsl|svg|script|wasm|multipart|event-stream)|^message\//i

export const OTHER_CHARSET = /; ?charset=(?!"?utf-8"?(?:;|$))/i

export const JSON_TYPE = /^[^;]*[/+]json *(?:;|$)/i
