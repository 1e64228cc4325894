import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Block, ROOT, readBlocks } from './blocks.ts'
import { escapePattern } from './commands.ts'

/** An instruction to the reader: a sentence in the guide, and a function that does what it says. */
export type Instruction = readonly [sentence: string, follow: () => Promise<void>]

/**
 * Follows a guide from top to bottom. Runs each code block, and carries out each of the instructions where its sentence
 * occurs.
 * @throws Error if a step fails, or if the guide no longer contains one of the sentences
 */
export async function followGuide(
  guide: string,
  instructions: readonly Instruction[],
  followBlock: (block: Block) => Promise<void>,
): Promise<void> {
  const text = readFileSync(join(ROOT, guide), 'utf8')
  const steps = [
    ...readBlocks(guide).map((block) => ({ line: block.line, follow: () => followBlock(block) })),
    ...instructions.map(([sentence, follow]) => ({ line: lineOf(sentence, text, guide), follow })),
  ]
  for (const { line, follow } of steps.toSorted((one, other) => one.line - other.line)) {
    await follow().catch((error: unknown) => {
      throw new Error(`${guide}:${line}: ${error instanceof Error ? error.message : error}`, { cause: error })
    })
  }
}

/** Returns the number of the line on which the sentence begins. The sentence may contain line breaks. */
function lineOf(sentence: string, text: string, guide: string): number {
  const found = new RegExp(sentence.split(' ').map(escapePattern).join('\\s+')).exec(text)
  if (found === null) throw new Error(`${guide} no longer says "${sentence}"`)
  return text.slice(0, found.index).split('\n').length
}
