import { command } from '../../base/terminal/command.ts'
import { jsonText } from '../../base/terminal/terminal.ts'
import { readSolutionFolder } from '../solution-folder.ts'
import { refuseFaults } from './check.ts'

export const openapiCommand = command({
  summary: 'print the OpenAPI 3.1 description of a solution’s endpoints',
  arguments: { folder: { what: 'folder that contains solution.json', default: '.' } },
  options: {},
  async run({ arguments: { folder: shown } }, terminal) {
    const folder = readSolutionFolder(shown)
    const [{ packSolution }, { describeEndpoints }] = await Promise.all([
      import('../check-solution.ts'),
      import('../../host/endpoints/describe-endpoints.ts'),
    ])
    const packed = await packSolution(folder)
    const { manifest, modules } = packed
    if (manifest === null) return refuseFaults(folder, packed, terminal)
    terminal.out(jsonText(describeEndpoints({ manifest, modules })))
    return 'done'
  },
})
