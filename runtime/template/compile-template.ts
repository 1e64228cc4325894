import type { Warning } from '../bundle/faults.ts'
import { type CompiledTemplate, isWithinBounds, MAX_PARTS, REPLACED } from './compiled-template.ts'
import { findLoginForm, missingElements, missingEssentials } from './login-form.ts'
import { parseTemplate } from './parse-template.ts'
import { TemplateWarnings } from './template-warnings.ts'
import { writeParts } from './write-parts.ts'

/**
 * Compiles a solution's `login.html` into parts that the host only has to fill in. The parts are generated from the
 * tree that a browser would parse. Warnings refer to the file as the author wrote it.
 * @param file the file name in the warnings
 * @returns a null template, with the warning `template_replaced`, if the host must show its default page instead. This
 * happens if the source cannot be parsed within its limits, or if the form `login_form` or one of the inputs `username`
 * and `password` is missing.
 */
export function compileTemplate(
  source: string,
  file: string,
): { template: CompiledTemplate | null; warnings: Warning[] } {
  const text = source.replace(/^\ufeff/, '').toWellFormed()
  const parsed = parseTemplate(text)
  if ('refused' in parsed) return { template: null, warnings: refused(text, file, parsed.refused) }
  const { authored, stable, shift } = parsed
  const warnings = new TemplateWarnings(file, text, shift)
  const padded = ' '.repeat(shift) + text
  writeParts(authored, padded, warnings)
  for (const { element, message } of missingElements(findLoginForm(authored))) {
    warnings.add('template_element_missing', message, element?.sourceCodeLocation?.startOffset ?? null)
  }
  const missing = missingEssentials(findLoginForm(stable))
  const formAt = findLoginForm(authored).form?.sourceCodeLocation?.startOffset ?? null
  for (const what of missing)
    warnings.add('template_replaced', replacedMessage(`the page does not have ${what}; add it`), formAt)
  if (missing.length > 0) return { template: null, warnings: warnings.listed() }
  const template = writeParts(stable, '', new TemplateWarnings(file, '', 0))
  if (isWithinBounds(template)) return { template, warnings: warnings.listed() }
  warnings.add('template_replaced', replacedMessage(`the page has more than ${MAX_PARTS} values to insert`), null)
  return { template: null, warnings: warnings.listed() }
}

function refused(source: string, file: string, why: string): Warning[] {
  const warnings = new TemplateWarnings(file, source, 0)
  warnings.add('template_replaced', replacedMessage(why), null)
  return warnings.listed()
}

function replacedMessage(why: string): string {
  return `${REPLACED}${why}`
}
