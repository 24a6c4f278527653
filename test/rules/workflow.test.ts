import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { parse } from 'yaml'

it('the workflow runs the gate for each change, and may only read the repository', async () => {
  const workflow: unknown = parse(await readFile('.github/workflows/gate.yaml', 'utf8'))
  expect(workflow).toMatchObject({
    on: { push: { branches: ['main'] }, pull_request: null },
    permissions: { contents: 'read' },
    jobs: { gate: { steps: expect.arrayContaining([{ run: 'bash .ci/run' }]) } },
  })
})
