import type { Warning } from '../../../runtime/bundle/faults.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import type { Limits } from '../../../runtime/limits.ts'
import type { SandboxSolution } from '../../../runtime/protocol.ts'
import type { Supervisor } from '../../../runtime/supervisor.ts'
import { type CompiledTemplate, REPLACED } from '../../../runtime/template/compiled-template.ts'
import { CompiledTemplateSchema } from '../../../runtime/template/template-schema.ts'

/** The result of a check. `refused`: the page violates the rules for templates. `later`: it can't be checked now. */
export type PageCheck =
  | { readonly kind: 'sound'; readonly template: CompiledTemplate; readonly warnings: readonly Warning[] }
  | { readonly kind: 'refused' | 'later'; readonly why: string }

export type PageCompiler = (source: string) => Promise<PageCheck>

const NO_SCRIPTS: SandboxSolution = { scripts: [], units: {}, settings: {}, tables: {} }
const NO_FILES = { scripts: [], formScripts: [], forms: [], i18n: [], media: [], permissions: null }

/**
 * Compiles a login page under the same rules and limits as an upload. This happens in a separate sandbox process, since
 * the page's author is not trusted.
 */
export function createPageCompiler(supervisor: Pick<Supervisor, 'checkUpload'>, limits: Limits): PageCompiler {
  return async (source) => {
    const loginTemplate = { file: 'login.html', source }
    const files = { ...NO_FILES, loginTemplate, isolateMemory: limits.ISOLATE_MEMORY }
    try {
      const { checked, faults } = await supervisor.checkUpload(files, async () => NO_SCRIPTS, [])
      const [fault] = faults
      if (checked === null || fault !== undefined)
        return { kind: 'later', why: fault?.message ?? 'the sandbox process returned no result' }
      const refusal = checked.warnings.find(({ code }) => code === 'template_replaced')
      // Remove the start of the message. It says that the default page is shown, but an older page may be shown
      // instead.
      if (refusal !== undefined) return { kind: 'refused', why: refusal.message.replace(REPLACED, '') }
      // The process has handled untrusted text, so validate its result again.
      const template = CompiledTemplateSchema.safeParse(checked.template)
      if (!template.success) return { kind: 'refused', why: 'the sandbox process returned an invalid template' }
      return { kind: 'sound', template: template.data, warnings: checked.warnings }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      return { kind: 'later', why: error.message }
    }
  }
}
