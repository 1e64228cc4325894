// Prints a random sample of the texts that people read, for a reader who checks how they are written:
// `npm run words:sample -- 7` prints those of seed 7. The same seed gives the same sample of the same source.
import { seededRandom } from '../../test/support/random.ts'
import { allTexts, type TextKind } from './texts.ts'

const SIZES: Readonly<Record<TextKind, number>> = { ui: 100, docs: 100, message: 60, comment: 100, test: 40 }

const seed = Number(process.argv[2] ?? 1)
const random = seededRandom(seed)
const texts = allTexts()
for (const [kind, size] of Object.entries(SIZES)) {
  const all = texts.filter((text) => text.kind === kind)
  process.stdout.write(`# ${kind}: ${size} of ${all.length}, seed ${seed}\n`)
  const drawn = random.shuffled(all).slice(0, size)
  for (const { file, line, text } of drawn) process.stdout.write(`${file}:${line}\t${text}\n`)
}
