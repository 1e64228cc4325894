import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import Koa, { type Context } from 'koa'

/** Returns Koa's context for a request that no server received. The response is not sent anywhere. */
export function koaContext(request: Partial<Pick<IncomingMessage, 'method' | 'url' | 'headers'>> = {}): Context {
  const received = Object.assign(new IncomingMessage(new Socket()), request)
  return new Koa().createContext(received, new ServerResponse(received))
}
