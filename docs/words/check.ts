// Reports phrases that a native speaker would not use, in everything that a person reads (`phrases.ts` lists them).
import { EXCEPTIONS, findingsOf, PHRASES } from './phrases.ts'
import { allTexts } from './texts.ts'

const findings = findingsOf(allTexts(), PHRASES, EXCEPTIONS)
for (const finding of findings) process.stderr.write(`${finding}\n`)
process.exitCode = findings.length === 0 ? 0 : 1
