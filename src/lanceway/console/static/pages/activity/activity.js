// Activity: pipelines and their runs, background jobs, and lineage. Each part has an address.

import { to } from '../../base/router.js';
import { headline, noPage, tabs } from '../../base/widgets.js';
import { jobPage, jobsPage } from './jobs.js';
import { lineagePage } from './lineage.js';
import { pipelinesPage, runPage, runsPage } from './runs.js';

const TABS = [['', 'Pipelines'], ['runs', 'Runs'], ['jobs', 'Jobs'], ['lineage', 'Lineage']];

export function activityPage({ names, query }, context) {
  const [part = '', key, ...rest] = names;
  const parts = {
    '': () => pipelinesPage(),
    runs: () => (key ? runPage(key) : runsPage(query)),
    jobs: () => (key ? jobPage(key) : jobsPage(query, context)),
    lineage: () => lineagePage(names.slice(1), query),
  };
  const isKnown = Object.hasOwn(parts, part) && (rest.length === 0 || part === 'lineage');
  return [
    headline('runs', 'Activity'),
    tabs('Activity', TABS.map(([name, text]) => [name, text, to('activity', [name])]), part),
    isKnown ? parts[part]() : noPage(),
  ];
}
