/* P2 of paper 000 in GNU MathProg: glpsol -m plain.mod -d plain.dat */
set U;
param delta; param rho; param rbar;
param nm{U}; param mavg{U}; param mmax{U};
param s1avg{U}; param s1max{U}; param savg{U}; param smax{U};
param nr{U}; param ravg{U}; param rmax{U};
param cm{U}; param cr{U}; param low{U}; param high{U}; param deadline{U}; param penalty{U};
param a{i in U} := nm[i] * mavg[i] - mmax[i];
param b{i in U} := nr[i] * (savg[i] + ravg[i]) - smax[i] - rmax[i];
param c{i in U} := (s1avg[i] - savg[i] + s1max[i] + 2 * (smax[i] + mmax[i] + rmax[i])) / 2;
/* at least one slot of each kind, and no more than tasks */
param left{i in U} := deadline[i] - c[i];
param one{i in U} := if left[i] > b[i] then a[i] / (left[i] - b[i]) else 1e30;
param x{i in U} := max(min((sqrt(a[i] * b[i] * cm[i] / cr[i]) + a[i]) / left[i], one[i], nm[i]), a[i] / (left[i] - b[i] / nr[i]), 1);
param y{i in U} := if x[i] >= one[i] then 1 else b[i] / (left[i] - a[i] / x[i]);
param gamma{i in U} := x[i] / cm[i] + y[i] / cr[i];
var h{i in U}, integer, >= low[i], <= high[i];
var d, integer, >= 0;
var r, integer, >= 0, <= rbar;
minimize cost: delta * d + rho * r + sum{i in U} penalty[i] * (high[i] - h[i]);
subject to enough: sum{i in U} gamma[i] * h[i] <= r + d;
solve;
printf "cost %.10g\n", delta * d + rho * r + sum{i in U} penalty[i] * (high[i] - h[i]);
end;
