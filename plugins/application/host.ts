import { isAllowedAddress } from '../../runtime/address.ts'
import { type Call, command, type Json, type Plugin, type SolutionFacts } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'

/** The host services behind the binding `application`. */
export interface ApplicationPorts {
  /** The solution's URL, such as `https://hello.apps.example.org`. */
  serverUrl(call: Call): string
  environment(): string
  /** The platform's version. */
  version(): string
  forms(solution: SolutionFacts): readonly string[]
  showUrl(call: Call, url: string, target: string | null): void
  showForm(call: Call, form: string): void
  /** Closes the client. Its page then opens that solution, or reloads the current one. */
  closeSolution(call: Call, target: { readonly solution: string | null; readonly argument: string | null }): void
  /**
   * Schedules a client's timer, in ms. When the timer expires, the host calls the entry function `application.runLater`
   * with `[id]`.
   */
  later(call: Call, run: { readonly id: number; readonly milliseconds: number }): void
  cancelLater(call: Call, id: number): void
}

const Id = z.int().min(1)

export default function application(ports: ApplicationPorts): Plugin {
  return {
    name: 'application',
    onlyIfNamed: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      showURL: command(
        z.tuple([z.string().refine(isAllowedAddress), z.string().max(100).nullable()]),
        (call, [url, target]) => ports.showUrl(call, url, target),
        { withoutLogin: true },
      ),
      showForm: command(z.tuple([z.string().min(1).max(100)]), (call, [form]) => {
        if (ports.forms(call.solution).includes(form)) ports.showForm(call, form)
      }),
      closeSolution: command(
        z.tuple([z.string().max(63).nullable(), z.string().max(2048).nullable()]),
        (call, [solution, argument]) => ports.closeSolution(call, { solution, argument }),
      ),
      // This is also allowed without a signed-in user, since a login form may need a timer too.
      executeLater: command(
        z.tuple([z.strictObject({ id: Id, milliseconds: z.int().min(0).max(3_600_000) })]),
        (call, [run]) => ports.later(call, run),
        { withoutLogin: true },
      ),
      cancelLater: command(z.tuple([Id]), (call, [id]) => ports.cancelLater(call, id), { withoutLogin: true }),
    },
    settings: (solution): Json => ({
      name: solution.name,
      version: solution.version,
      platform: ports.version(),
      environment: ports.environment(),
      forms: ports.forms(solution),
    }),
    state: (call): Json => ports.serverUrl(call),
  }
}
