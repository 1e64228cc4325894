import { type Platform, platformOf } from '../../runtime/platforms.js'

/** Lines that a host prints at startup if the system can't enforce all limits. There are none on Linux. */
export function developmentOnly({ name, lacks }: Pick<Platform, 'name' | 'lacks'> = platformOf()): readonly string[] {
  if (lacks.length === 0) return []
  const head = `Note: on ${name}, use Solhost only for development, and only with solutions that you trust. Reasons:`
  return [head, ...lacks.map((line) => `      ${line}`)]
}
