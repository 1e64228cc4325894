interface Plugins {
  /** Requests to hosts that `solution.json` names under `http` and that the operator granted. */
  readonly http: {
    /**
     * Sends one request and waits for the whole answer. A redirect is an answer: it is not followed. Cookies are neither
     * kept nor sent, but for a header Cookie of your own.
     * @throws TypeError (the Promise fails) for arguments of another kind
     * @throws Error (the Promise fails) with a text that says why: the host is not asked for, not granted, in a private
     *   network or not to be reached, or which of the limits FETCH_TIME and FETCH_SIZE it went over
     */
    fetch(url: string, init?: HttpInit): Promise<HttpAnswer>
  }
}

/** How a request is sent. */
interface HttpInit {
  /** GET unless set; HEAD, POST, PUT, PATCH, DELETE or OPTIONS. */
  method?: string | null
  /** At most 64. Host, Content-Length, Accept-Encoding and those of the connection are set by the platform. */
  headers?: Record<string, string> | null
  /** Sent as UTF-8; not with GET and HEAD. */
  body?: string | null
}

/** What the other server answered, whatever its status. */
interface HttpAnswer {
  /** Such as 200 or 404. */
  readonly status: number
  /** Whether the status is 200 to 299. */
  readonly ok: boolean
  /** By names in small letters; what came several times is joined by ", ". */
  readonly headers: Readonly<Record<string, string>>
  /** The body, read as UTF-8. */
  readonly text: string
  /** The body read as JSON. @throws SyntaxError when it is none */
  json(): any
}

/** What further plugins give. */
declare var plugins: Plugins
