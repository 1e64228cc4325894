interface Plugins {
  /** HTTP requests to hosts that are listed in `solution.json` under `http` and that the operator granted. */
  readonly http: {
    /**
     * Sends one request and waits for the whole response. Redirects are returned, not followed. Cookies are not stored,
     * and are sent only if you set the Cookie header.
     * @throws TypeError (the Promise rejects) for arguments of the wrong type
     * @throws Error (the Promise rejects) if the host is not listed, not granted, in a private network or unreachable,
     *   or if a limit was exceeded (FETCH_TIME or FETCH_SIZE). The message contains the reason
     */
    fetch(url: string, init?: HttpInit): Promise<HttpAnswer>
    /**
     * Creates a response with a status and headers. It has an effect only if an endpoint's function returns it:
     *
     *     return plugins.http.answer(201, order, { location: `/solution/shop/api/orders/${order.id}` })
     *
     * If `content-type` is omitted or is JSON, the body is sent as JSON. Otherwise it must be a string, which is sent
     * unchanged as UTF-8.
     * @param status 200 to 299, 303, 307 or 400 to 599
     * @param body omitted or null: the response has no body
     * @param headers content-type, content-disposition, content-language, location, etag, last-modified, cache-control,
     *   retry-after, link and names that start with x-
     * @throws TypeError outside of endpoints, and for a status, header or content type that isn't allowed. HTML, XML,
     *   SVG and scripts are refused, because browsers must not render or run the response
     */
    answer(status: number, body?: unknown, headers?: Record<string, string> | null): EndpointAnswer
  }
}

/** The request that is passed to an endpoint's function. No object in it has a prototype. */
interface EndpointRequest {
  /** The request's reference, which also appears in the log. */
  readonly id: string
  /** The method; GET for a HEAD request. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The decoded path, such as `/orders/7`. */
  readonly path: string
  /** The values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>
  /** Query parameters. If a name occurs several times, the last value is used. */
  readonly query: Readonly<Record<string, string>>
  /** The headers by lowercase name, without credentials, cookies and headers that proxies add. */
  readonly headers: Readonly<Record<string, string>>
  /** The body: parsed JSON, the fields of a form, a text, or null if there is none. */
  readonly body: any
}

/** A response that an endpoint's function returns. */
interface EndpointAnswer {
  /** Exists only in the types. `plugins.http.answer` creates a response. */
  readonly __endpointAnswer: never
}

/** The options of a request. */
interface HttpInit {
  /** The method: GET (the default), HEAD, POST, PUT, PATCH, DELETE or OPTIONS. */
  method?: string | null
  /** At most 64 headers. The platform sets Host, Content-Length, Accept-Encoding and the connection headers. */
  headers?: Record<string, string> | null
  /** The body, sent as UTF-8. Not allowed with GET and HEAD. */
  body?: string | null
}

/** The server's response, whatever its status. */
interface HttpAnswer {
  /** The status code, such as 200 or 404. */
  readonly status: number
  /** Whether the status is 200 to 299. */
  readonly ok: boolean
  /** Headers by lowercase name. Repeated headers are joined with ", ". */
  readonly headers: Readonly<Record<string, string>>
  /** The body, decoded as UTF-8. */
  readonly text: string
  /** The body, parsed as JSON. @throws SyntaxError if it is not JSON */
  json(): any
}

/** The globals of additional plugins. */
declare var plugins: Plugins
