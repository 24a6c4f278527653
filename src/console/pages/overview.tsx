import { useQuery } from '@tanstack/react-query'
import { useAction } from '../api/action.ts'
import { type Schemas, send } from '../api/client.ts'
import { overviewQuery } from '../api/queries.ts'
import { useTitle } from '../parts/page.tsx'
import { Asked } from '../parts/states.tsx'
import { Age } from '../parts/time.tsx'

type Overview = Schemas['Overview']

/** The first page: is it right? */
export function Overview() {
  return <Asked query={useQuery(overviewQuery)}>{(overview) => <Told overview={overview} />}</Asked>
}

function Told({ overview }: { readonly overview: Overview }) {
  useTitle(overview.sentence)
  return (
    <div className="page overview">
      <h1 className={`verdict ${overview.verdict}`}>{overview.sentence}</h1>
      <ul>
        {overview.needs.map((need) => (
          <Need key={`${need.kind} ${need.what}`} need={need} />
        ))}
      </ul>
    </div>
  )
}

function Need({ need }: { readonly need: Overview['needs'][number] }) {
  const mend = useAction({ run: () => send(need.mend.method ?? 'POST', need.mend.path ?? '', need.mend.body), done: () => 'Done.' })
  return (
    <li>
      {need.what} <Age at={need.since} />
      {need.mend.path !== undefined && (
        <button type="button" className="button" onClick={() => mend.mutate()}>
          Mend
        </button>
      )}
    </li>
  )
}
