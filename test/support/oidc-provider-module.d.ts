/** The npm package `oidc-provider` has no types. These are the types for the parts that the tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
  import type { Context, Next } from 'koa'

  export type Interaction = {
    readonly uid: string
    readonly prompt: {
      readonly name: string
      readonly details: {
        readonly missingOIDCScope?: readonly string[]
        readonly missingOIDCClaims?: readonly string[]
      }
    }
    readonly params: Readonly<Record<string, unknown>>
    readonly session?: { readonly accountId: string }
    readonly grantId?: string
  }

  export interface Grant {
    addOIDCScope(scope: string): void
    addOIDCClaims(claims: readonly string[]): void
    save(): Promise<string>
  }

  export interface Client {
    readonly clientId: string
    readonly clientName?: string
  }

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    readonly Client: {
      find(id: string): Promise<Client | undefined>
      readonly Schema: { readonly prototype: { invalidate(message: string, code?: string): void } }
    }
    readonly Grant: {
      new (of: { readonly accountId: string; readonly clientId: string }): Grant
      find(id: string): Promise<Grant | undefined>
    }
    use(step: (context: Context & { oidc?: { body?: Record<string, unknown> } }, next: Next) => Promise<void>): this
    on(event: string, listener: (...values: never[]) => void): this
    callback(): RequestListener
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Record<string, unknown>,
      options?: { readonly mergeWithLastSubmission: boolean },
    ): Promise<void>
  }
}
