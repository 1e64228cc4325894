import type { Brand } from '../../base/web/render-page.ts'
import type { Design } from './design.ts'
import { paletteStyles } from './template.ts'

/**
 * The appearance of a solution's login page, for use on other pages that its users see.
 * @param locale a platform locale
 */
export function brandOf(design: Design, solution: string, locale: string): Brand {
  const texts: Readonly<Record<string, { readonly logo?: string | undefined } | undefined>> = design.texts
  const logoText = [texts[locale]?.logo, texts.default?.logo].find((text) => (text ?? '').trim() !== '') ?? solution
  return { name: solution, logo: design.logo, logoText, styles: paletteStyles(design) }
}
