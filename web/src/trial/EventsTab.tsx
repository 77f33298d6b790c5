import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Complaint, Loading } from "@/parts/Notes";
import { PlainTable } from "@/parts/PlainTable";
import { State } from "@/parts/State";
import { Time } from "@/parts/Time";
import { checkpointsQuery, runsQuery } from "@/training/queries";
import { eventsOf, type TrialEvent } from "./events";
import { platformLinesQuery } from "./queries";
import css from "./Trial.module.css";
import type { TrialTabProps } from "./tab";

/** Events of the trial: grants, ends of runs, checkpoints, and the platform's log lines. */
export function EventsTab({ trial }: TrialTabProps) {
  const runs = useQuery(runsQuery(trial.id));
  const checkpoints = useQuery(checkpointsQuery(trial.id));
  const lines = useQuery(platformLinesQuery(trial.id));
  const error = runs.error ?? checkpoints.error ?? lines.error;
  if (!error && !(runs.data && checkpoints.data && lines.data)) return <Loading rows={8} label="loading the events" />;
  const parts = [runs.data, checkpoints.data, lines.data];
  const events = eventsOf({ trial, runs: runs.data?.items ?? [], checkpoints: checkpoints.data?.items ?? [], lines: lines.data?.items ?? [] });
  return (
    <>
      {error && <Complaint error={error} />}
      <PlainTable>
        <thead>
          <tr>
            {["Time", "State", "Event", "Reason"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {events.map((event, at) => (
            <tr key={events.length - at}>
              <td>
                <Time at={new Date(event.at).toISOString()} />
              </td>
              <td>
                <State state={event.state} quiet />
              </td>
              <td data-wraps>
                <What event={event} trial={`${trial.experiment_number}.${trial.number}`} />
              </td>
              <td data-wraps>{event.why ?? "–"}</td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
      {parts.some((part) => part?.next_cursor) && <p className={css.more}>Only the first 200 of each kind are shown. See the Logs and Checkpoints tabs for all.</p>}
    </>
  );
}

/** The event as a link to its log line or checkpoint. */
function What({ event: { text, line, checkpoint }, trial }: { event: TrialEvent; trial: string }) {
  if (!line && !checkpoint) return text;
  return (
    <Link className={css.link} to="/trials/$trial/$tab" params={{ trial, tab: line ? "logs" : "checkpoints" }} search={(line ?? { checkpoint }) as never}>
      {text}
    </Link>
  );
}
